# SPDX-License-Identifier: GPL-2.0
# Wants csv and svg from -e.

set terminal svg size 960,420 font "sans,12" background "white"
set output svg
set datafile separator comma
set datafile columnheaders
set logscale x
set xrange [40:1200]
# The other arms' rows do not break an arm's line.
set datafile missing NaN
set xtics (50, 100, 150, 250, 500, 1000)
set xlabel "time between wakeups (us)"
set grid
set yrange [0:*]
only(name, value) = stringcolumn("arm") eq name ? value : NaN
arms = "max-0 max-200000 budget-20"

set multiplot layout 1,2 title "a guest that is woken by a timer, virtual time"
set title "how late it wakes up, median"
set ylabel "us"
set key bottom left
plot for [name in arms] csv using "workload":(only(name, column("p50_ns") / 1000)) \
	with linespoints linewidth 2 pointtype 7 title name
set title "host CPU"
set ylabel "%"
set yrange [0:100]
unset key
plot for [name in arms] csv using "workload":(only(name, column("cpu_pct"))) \
	with linespoints linewidth 2 pointtype 7
unset multiplot

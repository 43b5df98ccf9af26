# SPDX-License-Identifier: GPL-2.0
# Wants csv and svg from -e.

set terminal svg size 960,420 font "sans,12" background "white"
set output svg
set datafile separator comma
set datafile columnheaders
set logscale x
set xrange [4:250]
set xtics (5, 10, 20, 50, 100, 200)
set xlabel "grow start (us)"
set grid
set key bottom right
only(name, value) = stringcolumn("workload") eq name ? value : NaN

set multiplot layout 1,2 title "grow start, direct writes of 4k to a disk that takes 50 us, shrink 0, virtual time"
set title "throughput (not from 0)"
set ylabel "MB/s"
plot for [name in "steady bursts-of-8"] csv using (column("arm") / 1000): \
	(only(name, 4096000 / column("op_ns"))) with linespoints linewidth 2 pointtype 7 title name
set title "host CPU per write"
set ylabel "us"
set yrange [0:*]
unset key
plot for [name in "steady bursts-of-8"] csv using (column("arm") / 1000): \
	(only(name, column("cpu_op_ns") / 1000)) with linespoints linewidth 2 pointtype 7
unset multiplot

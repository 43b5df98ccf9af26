# SPDX-License-Identifier: GPL-2.0
# The picture of "make bench": wants csv, svg, seed and base from -e.

set terminal svg size 960,420 font "sans,12" background "white"
set output svg
set datafile separator comma
set logscale x
set xtics (5, 20, 50, 100, 150, 250, 1000)
set xrange [4:1300]
set xlabel "time between wakeups (us)"
set grid
set key bottom center
settings = "off shrink-0 shrink-2 start-30000 start-60000"

# Lines that coincide stay visible: each is drawn thinner than the one below.
only(name, value) = stringcolumn("kernel") eq "patched" && column("seed") == seed && \
	stringcolumn("setting") eq name ? value : NaN

set multiplot layout 1,2 title sprintf("Halt polling on Linux %s, virtual time (1 instruction = 1 ns)", base)
set title "wakeup latency, median"
set ylabel "us"
set yrange [0:*]
plot for [i=1:words(settings)] csv using "period_us":(only(word(settings, i), column("p50_ns") / 1000)) \
	with linespoints linewidth (6 - i) pointtype 7 pointsize (1.2 - i * 0.15) title word(settings, i)
set title "CPU burned polling, share of the time"
set ylabel "%"
set yrange [0:100]
unset key
plot for [i=1:words(settings)] csv using "period_us":(only(word(settings, i), \
	100 * column("poll_ns_per_halt") / column("elapsed_ns_per_halt"))) \
	with linespoints linewidth (6 - i) pointtype 7 pointsize (1.2 - i * 0.15) title word(settings, i)
unset multiplot

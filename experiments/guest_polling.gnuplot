# SPDX-License-Identifier: GPL-2.0
# Wants csv and svg from -e.

set terminal svg size 960,460 font "sans,12" background "white"
set output svg
set datafile separator comma
set datafile columnheaders
set style fill solid 0.8
set boxwidth 0.35
set grid y
set xtics rotate by -40
set yrange [0:*]
names = "rr-30us pipe"
# The arms of a workload stand in the same order.
index_of(arm) = arm eq "guest-0" ? 0 : arm eq "host" ? 6 : arm eq "both" ? 7 : \
	arm eq "idle=poll" ? 8 : int(arm[7:]) / 10000
only(name, value) = stringcolumn("workload") eq name ? value : NaN
set xrange [-0.6:8.6]

set multiplot layout 1,2 title "who polls, a Linux guest in virtual time"
set title "time per request and response (a response takes 30 us)"
set ylabel "us"
plot csv using (index_of(stringcolumn("arm"))):(only("rr-30us", column("op_ns") / 1000)): \
	xticlabels(stringcolumn("arm")) with boxes linecolor 3 notitle
set title "host CPU per request, or per round"
set ylabel "us"
set key above
# The labels once, then the bars beside them.
plot csv using (index_of(stringcolumn("arm"))):(NaN):xticlabels(stringcolumn("arm")) notitle, \
	for [i=1:2] csv using (index_of(stringcolumn("arm")) + (i - 1.5) * 0.4): \
	(only(word(names, i), column("cpu_op_ns") / 1000)) with boxes linecolor i + 1 title word(names, i)
unset multiplot

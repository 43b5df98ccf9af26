# SPDX-License-Identifier: GPL-2.0
# Wants csv and svg from -e; the arms of a workload are rows that follow each other.

set terminal svg size 960,460 font "sans,12" background "white"
set output svg
set datafile separator comma
set datafile columnheaders
set style fill solid 0.8
set boxwidth 0.35
set grid y
set xtics rotate by -40
set xrange [-0.6:9.6]
change(arm, value) = arm eq "shrink-0" ? (base = value, NaN) : 100 * (value / base - 1)

set multiplot layout 1,2 title "shrink 0 and shrink 2, a Linux guest in virtual time"
set title "time per operation with shrink 2, against shrink 0"
set ylabel "%"
plot csv using (int($0 / 2)):(change(stringcolumn("arm"), column("op_ns"))):xticlabels(stringcolumn("workload")) \
	with boxes linecolor 3 notitle, 0 linecolor "black" notitle
set title "host CPU per operation, likewise"
plot csv using (int($0 / 2)):(change(stringcolumn("arm"), column("cpu_op_ns"))):xticlabels(stringcolumn("workload")) \
	with boxes linecolor 3 notitle, 0 linecolor "black" notitle
unset multiplot

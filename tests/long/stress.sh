#!/bin/bash
# stress.sh - a minute of all of stress-ng's stressors of the system call classes, then of its scheduler class, each once with
# a flight recorder and once with a trace of a bounded size: tests/live/stress.sh says what is asked of them.
export WW_STRESS_S=${WW_STRESS_S:-60}
live=$(dirname "$(readlink -f "$0")")/../live/stress.sh
fail=0
for class in os,filesystem,interrupt,network,pipe scheduler; do
	for how in WW_STRESS_FLIGHT=24M WW_STRESS_MAX=400M; do
		env WW_STRESS_CLASS=$class $how "$live" | sed "/^1\.\./d; s/^\(\(not \)*ok\) [0-9]* - /\1 - $class, ${how#WW_STRESS_}: /"
		[ "${PIPESTATUS[0]}" = 0 ] || fail=1
	done
done
exit $fail

# A trace is known by what is in it, not by its name: a file, or the only one in a directory, however deep; of several
# none is taken, they are named. What is no trace is said to be what it is. A clock that does not count ns has no lengths.
c=$WW_SRC/tests/fuzz/corpus
exec 2>&1
mkdir -p one/deep/er two empty
: > void
"$WHYWAIT" info void; echo $?
"$WHYWAIT" info empty; echo $?
cp "$WW_SRC/tests/data/demo.ctf.tar.gz" two/notes.txt
"$WHYWAIT" info two/notes.txt; echo $?
cp "$c/perfdata/unit-le" one/deep/er/whatever
"$WHYWAIT" info -q one | head -2
cp "$c/tracedat/v7-none" two/x.txt
"$WHYWAIT" info -q two | head -2
tar xzf two/notes.txt -C two
"$WHYWAIT" info two; echo $?
head -c 1000 "$c/tracedat/v7-none" > cut.dat
"$WHYWAIT" info cut.dat
head -c 100 two/demo.ctf/c0_0 > packet
"$WHYWAIT" info packet
sed 's/local \[mono\] boot/local [uptime] bo/' "$c/tracedat/v6" > ticks
"$WHYWAIT" report ticks; echo $?
"$WHYWAIT" events -q ticks | wc -l

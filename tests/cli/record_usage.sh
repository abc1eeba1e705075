# Wrong arguments: 2, and 125 where a command's own status could be meant; nothing is written.
try() { "$WHYWAIT" "$@" > out 2> err; echo "$? $(wc -c < out) $(head -n 1 err | cut -c1-70)"; }
try record
try record -p 1x
try record -d soon -a
try record --flight 0 -a
try record sleep 1
try record --ring=1 -a
try record --frob -a
try --nonsense -- true
try --nonsense
try -d 1
try -d 1 --
try -V
try --version
try record --report x -- true
ls -d whywait.ctf 2> /dev/null
echo done

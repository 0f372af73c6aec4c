#!/bin/bash
# 21-deep-path: exit 1 when the promise is broken, 0 when it held, 2 when the case itself could not be played
. "$(cd "$(dirname "$0")" && pwd)/lib.sh"
mkrepo
cat > $B/deep.py <<'P'
import os
d="d"*200
for i in range(40):
    os.mkdir(d); os.chdir(d)
open("precious.txt","w").write("PRECIOUS-"+os.environ["TOK"])
P
member a <<E
TOK=$TOK python3 $B/deep.py; 
touch $B/a.ready
$HANG
E
team; up; T=60; down --force; echo "down exit $DOWN"; headcount status 2>&1 | head -20; cat $B/down.err | head
a=$(pgrep -f $B/a.sh); echo "agent alive: ${a:-no}"
[ -n "$a" ] && { for p in $a; do kill -9 $p; done; broken "not saved, and so never stopped: exit $DOWN"; }
# The path is too long for grep, so a workspace that was kept is searched from inside.
W=$R/.headcount/worktrees/crew/a; [ -d $W ] && (cd $W && find . -name precious.txt -execdir grep -q "PRECIOUS-$TOK" {} \; -print) | grep -q . && held_ok "kept"
held "PRECIOUS-$TOK" || broken "gone"
held_ok "saved"

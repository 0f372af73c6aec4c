#!/bin/sh
# Which refs may be pushed to this hub of headcount. Written by `headcount hub init`.
#
# The forced command of a host's ssh key sets HEADCOUNT_HOST. Such a push may only touch refs of members that
# the operator has placed on that host (refs/headcount/placed/TEAM/MEMBER/GENERATION/HOST). A push without that
# variable is the operator's. Nobody replaces or deletes a salvage, and nobody rewrites a branch of a member.
set -u

refuse() {
    echo "headcount: refused $1: $2" >&2
    exit 1
}

is_zero() {
    case $1 in *[!0]*) return 1 ;; esac
}

is_placed() {  # TEAM/MEMBER or TEAM/MEMBER/GENERATION
    git for-each-ref --format='%(refname)' "refs/headcount/placed/$1/" | grep -q "/$HEADCOUNT_HOST\$"
}

check_host() {  # OLD NEW REF, of a host
    case $HEADCOUNT_HOST in
        '' | *[!A-Za-z0-9_%-]*) refuse "$3" "HEADCOUNT_HOST is not the name of a host" ;;
    esac
    case $3 in
        refs/headcount/salvage/*/*/* | refs/headcount/checkpoints/*/*/*)
            place=${3#refs/headcount/*/}
            place=${place%%.*} # a later salvage has a number
            ;;
        refs/heads/headcount/*/*)
            place=${3#refs/heads/headcount/}
            place=${place%%.*}
            is_zero "$2" && refuse "$3" "a host deletes no branch"
            ;;
        *) refuse "$3" "it is not a ref of a member" ;;
    esac
    is_placed "$place" || refuse "$3" "that member is not on $HEADCOUNT_HOST"
}

while read -r old new ref; do
    case $ref in
        refs/headcount/probe/*) refuse "$ref" "this hub checks who pushes what" ;;
        refs/headcount/salvage/*)
            is_zero "$old" || refuse "$ref" "a salvage is never replaced or deleted"
            ;;
        refs/heads/headcount/*)
            is_zero "$old" || is_zero "$new" || git merge-base --is-ancestor "$old" "$new" ||
                refuse "$ref" "a branch of a member is never rewritten"
            ;;
    esac
    if [ -n "${HEADCOUNT_HOST+set}" ]; then
        check_host "$old" "$new" "$ref"
    fi
done

#!/bin/sh
# Ends with 1 and says what is wrong, unless greet.sh does what README.md says.
failed=0
expect() {
    if [ "$1" != "$2" ]; then
        echo "expected '$2', got '$1'"
        failed=1
    fi
}
expect "$(sh greet.sh Ada)" "Hello, Ada!"
expect "$(sh greet.sh)" "Hello, world!"
exit $failed

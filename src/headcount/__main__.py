import sys

from headcount.cli import main

sys.exit(main())

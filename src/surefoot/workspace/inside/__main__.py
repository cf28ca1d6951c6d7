import sys

TYPE_CHECKING = False  # the real one costs an import of typing, a quarter of this program's start
if TYPE_CHECKING:
    from surefoot.workspace.inside import supervise
else:
    import supervise

sys.exit(supervise.main(sys.argv[1:]))

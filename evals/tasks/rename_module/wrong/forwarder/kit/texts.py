from kit.helpers import pad, widest

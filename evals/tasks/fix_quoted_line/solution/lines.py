import csv


def split_line(line):
    """The cells of one CSV line. Cells may be quoted with "; a doubled quote inside stands for one."""
    return next(csv.reader([line])) or [""]

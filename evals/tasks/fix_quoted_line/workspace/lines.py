def split_line(line):
    """The cells of one CSV line. Cells may be quoted with "; a doubled quote inside stands for one."""
    cells = []
    for cell in line.split(","):
        cells.append(cell.strip('"'))
    return cells

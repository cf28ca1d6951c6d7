// Reads unified patches into lines, and pairs lines for the split view. Pure.

export type LineKind = 'context' | 'add' | 'del' | 'note';

export interface DiffLine {
  kind: LineKind;
  text: string;
  old: number | null;
  new: number | null;
}

export interface Hunk {
  /** What stands after the second @@: usually the function around. */
  heading: string;
  oldStart: number;
  newStart: number;
  lines: DiffLine[];
}

export interface PatchFile {
  path: string;
  from: string | null;
  binary: boolean;
  hunks: Hunk[];
  added: number;
  removed: number;
}

const HEADER = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

/** Read a patch of any number of files. Hunk lengths decide what is content, so `--- x` inside a hunk is a line. */
export function parsePatch(patch: string): PatchFile[] {
  const files: PatchFile[] = [];
  let file: PatchFile | null = null;
  let hunk: Hunk | null = null;
  let oldLeft = 0;
  let newLeft = 0;
  let oldLine = 0;
  let newLine = 0;
  const open = (path: string): PatchFile => {
    const made: PatchFile = { path, from: null, binary: false, hunks: [], added: 0, removed: 0 };
    files.push(made);
    return made;
  };
  const lines = patch.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines) {
    if (hunk && file && (oldLeft > 0 || newLeft > 0)) {
      const mark = line[0] ?? ' ';
      const text = line.slice(1);
      if (mark === '+') {
        hunk.lines.push({ kind: 'add', text, old: null, new: newLine++ });
        file.added++;
        newLeft--;
        continue;
      }
      if (mark === '-') {
        hunk.lines.push({ kind: 'del', text, old: oldLine++, new: null });
        file.removed++;
        oldLeft--;
        continue;
      }
      if (mark === ' ' || line === '') {
        hunk.lines.push({ kind: 'context', text, old: oldLine++, new: newLine++ });
        oldLeft--;
        newLeft--;
        continue;
      }
    }
    if (line.startsWith('\\')) {
      hunk?.lines.push({ kind: 'note', text: line.slice(2), old: null, new: null });
      continue;
    }
    const header = HEADER.exec(line);
    if (header) {
      file ??= open('');
      oldLine = Number(header[1]);
      newLine = Number(header[3]);
      oldLeft = Number(header[2] ?? 1);
      newLeft = Number(header[4] ?? 1);
      hunk = { heading: header[5] ?? '', oldStart: oldLine, newStart: newLine, lines: [] };
      file.hunks.push(hunk);
      continue;
    }
    if (line.startsWith('diff --git ')) {
      file = open(/ b\/(.*)$/.exec(line)?.[1] ?? '');
      hunk = null;
    } else if (line.startsWith('--- ')) {
      const from = name(line.slice(4), 'a/');
      if (!file || file.hunks.length > 0) file = open(from ?? '');
      file.from = from;
      hunk = null;
    } else if (line.startsWith('+++ ') && file) {
      file.path = name(line.slice(4), 'b/') ?? file.from ?? file.path;
    } else if (/^(Binary files|GIT binary patch)/.test(line) && file) {
      file.binary = true;
    }
  }
  return files;
}

function name(text: string, prefix: string): string | null {
  const path = text.split('\t')[0] ?? '';
  if (path === '/dev/null') return null;
  return path.startsWith(prefix) ? path.slice(prefix.length) : path;
}

export interface Pair {
  left: DiffLine | null;
  right: DiffLine | null;
}

/** Put removed and added lines of a change beside each other. */
export function pairLines(lines: DiffLine[]): Pair[] {
  const pairs: Pair[] = [];
  let gone: DiffLine[] = [];
  let come: DiffLine[] = [];
  const flush = (): void => {
    for (let i = 0; i < Math.max(gone.length, come.length); i++) {
      pairs.push({ left: gone[i] ?? null, right: come[i] ?? null });
    }
    gone = [];
    come = [];
  };
  for (const line of lines) {
    if (line.kind === 'del') {
      if (come.length > 0) flush();
      gone.push(line);
    } else if (line.kind === 'add') come.push(line);
    else {
      flush();
      pairs.push({ left: line, right: line });
    }
  }
  flush();
  return pairs;
}

export type Piece = { folded: false; lines: DiffLine[] } | { folded: true; lines: DiffLine[] };

/** Split a hunk into shown pieces and folded runs of unchanged lines, keeping `around` lines next to each change. */
export function foldContext(lines: DiffLine[], around = 3): Piece[] {
  const near = new Array<boolean>(lines.length).fill(false);
  lines.forEach((line, i) => {
    if (line.kind === 'context') return;
    for (let j = Math.max(0, i - around); j <= Math.min(lines.length - 1, i + around); j++) near[j] = true;
  });
  const pieces: Piece[] = [];
  lines.forEach((line, i) => {
    const folded = !near[i];
    const last = pieces.at(-1);
    if (last && last.folded === folded) last.lines.push(line);
    else pieces.push({ folded, lines: [line] });
  });
  // A fold of one or two lines hides nothing worth a click.
  return pieces.map((piece) => (piece.folded && piece.lines.length < 3 ? { folded: false, lines: piece.lines } : piece));
}

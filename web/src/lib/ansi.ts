// Colours of terminal output as classes on spans of text. Everything else that a terminal would do is dropped.

export interface Span {
  text: string;
  colour: string;
  bold: boolean;
}

const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;
// CSI sequences, OSC sequences up to their end, and two-character escapes.
// eslint-disable-next-line no-control-regex
const ESCAPE = /\u001b(?:\[([0-9;:?]*)([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/g;

export function ansiSpans(text: string): Span[] {
  const spans: Span[] = [];
  let colour = '';
  let bold = false;
  let end = 0;
  const push = (piece: string): void => {
    const clean = piece.replace(/\r\n/g, '\n');
    if (clean) spans.push({ text: clean, colour, bold });
  };
  for (const match of text.matchAll(ESCAPE)) {
    push(text.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[2] !== 'm') continue;
    const codes = (match[1] || '0').split(/[;:]/).map(Number);
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i] ?? 0;
      if (code === 0) [colour, bold] = ['', false];
      else if (code === 1) bold = true;
      else if (code === 22) bold = false;
      else if (code === 39) colour = '';
      else if (code >= 30 && code <= 37) colour = NAMES[code - 30] ?? '';
      else if (code >= 90 && code <= 97) colour = NAMES[code - 90] ?? '';
      else if (code === 38 || code === 48) i += codes[i + 1] === 5 ? 2 : 4;
    }
  }
  push(text.slice(end));
  return spans;
}

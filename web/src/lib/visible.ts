// Characters that change how a text looks without being seen. They are shown by name.

export interface Part {
  text: string;
  /** A name such as "U+202E RLO" if the part is a hidden character. */
  hidden: string | null;
}

const NAMES: Record<number, string> = {
  0x00: 'NUL', 0x07: 'BEL', 0x08: 'BS', 0x0d: 'CR', 0x1b: 'ESC', 0x7f: 'DEL', 0xa0: 'NBSP', 0xad: 'SHY',
  0x61c: 'ALM', 0x200b: 'ZWSP', 0x200c: 'ZWNJ', 0x200d: 'ZWJ', 0x200e: 'LRM', 0x200f: 'RLM', 0x2028: 'LS', 0x2029: 'PS',
  0x202a: 'LRE', 0x202b: 'RLE', 0x202c: 'PDF', 0x202d: 'LRO', 0x202e: 'RLO', 0x2060: 'WJ',
  0x2066: 'LRI', 0x2067: 'RLI', 0x2068: 'FSI', 0x2069: 'PDI', 0xfeff: 'BOM',
};

// Controls but tab and newline, separators, format characters (bidi, zero width, tags), private use, lone surrogates,
// unusual spaces, and the fillers that are letters by category but draw nothing.
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3164\u115f\u1160\uffa0\u034f\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;

/** Controls, and characters that change the direction in which text is read or have no width. */
export const TURNING = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

export function visibleParts(text: string, pattern = HIDDEN): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const character = match[0];
    if (character === '\n' || character === '\t') continue;
    if (match.index > end) parts.push({ text: text.slice(end, match.index), hidden: null });
    const code = character.codePointAt(0) ?? 0;
    const number = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
    parts.push({ text: character, hidden: NAMES[code] ? `${number} ${NAMES[code]}` : number });
    end = match.index + character.length;
  }
  if (end < text.length || parts.length === 0) parts.push({ text: text.slice(end), hidden: null });
  return parts;
}

/** The same as one text, for the rows of a report: characters that control or turn are written as their numbers. */
export function visibleText(text: string): string {
  return visibleParts(text, TURNING).map((part) => (part.hidden ? `<${part.hidden.split(' ')[0]}>` : part.text)).join('');
}

export function hiddenCount(text: string): number {
  return visibleParts(text).filter((part) => part.hidden !== null).length;
}

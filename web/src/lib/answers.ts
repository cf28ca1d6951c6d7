// How the options of a question become buttons. Pure.

import type { QuestionOption, QuestionRow } from './model';

export type Role = 'allow' | 'allowRun' | 'edit' | 'deny' | 'other';

export function roleOf(value: string): Role {
  const word = value.trim().toLowerCase();
  if (['yes', 'y', 'allow', 'approve', 'ok', 'once'].includes(word)) return 'allow';
  if (['no', 'n', 'deny', 'reject'].includes(word)) return 'deny';
  if (word === 'edit' || word === 'e' || word.startsWith('edit:')) return 'edit';
  if (word === 'always' || word.startsWith('always ')) return 'allowRun';
  return 'other';
}

export interface Choice {
  option: QuestionOption;
  role: Role;
  /** What `always` allows from then on. */
  rule: string;
}

const FALLBACK: readonly QuestionOption[] = [
  { value: 'no', label: 'No', key: 'n', danger: false },
  { value: 'yes', label: 'Yes', key: 'y', danger: false },
];
const ORDER: readonly Role[] = ['deny', 'other', 'edit', 'allowRun', 'allow'];

/** Whether a question wants words and offers nothing to choose. */
export function isOpen(question: QuestionRow): boolean {
  return question.options.length === 0 && question.command === null && question.diff === null;
}

/** Deny first and allow last, so that the way to agree is never where a hand rests. No options: allow and deny. */
export function choicesOf(question: QuestionRow): Choice[] {
  const options = question.options.length > 0 ? question.options : isOpen(question) ? [] : FALLBACK;
  return options
    .map((option) => ({ option, role: roleOf(option.value), rule: /^always\s+(.*)$/is.exec(option.value)?.[1] ?? '' }))
    .sort((a, b) => ORDER.indexOf(a.role) - ORDER.indexOf(b.role));
}

/** The text without the command and the diff that it repeats: both are shown on their own, in full. */
export function headline(question: QuestionRow): string {
  let text = question.text;
  if (question.diff) text = text.replace(question.diff, '');
  if (question.command) text = text.replace(`command: ${question.command}`, '');
  return text.trim() || question.text;
}

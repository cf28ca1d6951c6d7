// The page's words, in the chosen language. A language is one dictionary with the keys of `en`, which its type demands.

import { recall, remember } from '../memory';
import { en } from './en';
import { zh } from './zh';

export type Key = keyof typeof en;
export type Dictionary = Record<Key, string>;
export const LANGUAGES = { en: 'English', zh: '中文' } as const;
export type Language = keyof typeof LANGUAGES;

const DICTIONARIES: Record<Language, Dictionary> = { en, zh };
const TAGS: Record<Language, string> = { en: 'en', zh: 'zh-Hans' };

class Words {
  language = $state.raw<Language>('en');
  readonly #dictionary = $derived(DICTIONARIES[this.language]);
  readonly #plural = $derived(new Intl.PluralRules(TAGS[this.language]));
  readonly #time = $derived(new Intl.DateTimeFormat(TAGS[this.language], { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' }));
  readonly #day = $derived(new Intl.DateTimeFormat(TAGS[this.language], { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }));
  readonly #date = $derived(new Intl.DateTimeFormat(TAGS[this.language], { month: 'numeric', day: 'numeric', timeZone: 'UTC' }));
  readonly #number = $derived(new Intl.NumberFormat(TAGS[this.language]));

  get tag(): string {
    return TAGS[this.language];
  }

  choose(language: Language): void {
    this.language = language;
    remember('language', language);
  }

  /** The language chosen before, else what the server or the browser prefers. */
  start(hint: string | null | undefined): void {
    const wanted = recall('language') ?? hint ?? navigator.language;
    this.language = wanted.toLowerCase().startsWith('zh') ? 'zh' : 'en';
  }

  text(key: Key, values?: Record<string, string | number>): string {
    const text = this.#dictionary[key];
    return values ? text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole)) : text;
  }

  count(key: CountKey, n: number, values: Record<string, string | number> = {}): string {
    const form = this.#plural.select(n) === 'one' ? 'one' : 'other';
    return this.text(`${key}_${form}` as Key, { ...values, n: this.#number.format(n) });
  }

  /** The word for a value of the protocol; a value that is not in the dictionary is shown as it is. */
  label(group: string, value: string): string {
    const key = `${group}.${value}`;
    return key in this.#dictionary ? this.#dictionary[key as Key] : value.replaceAll('_', ' ');
  }

  time = (at: number | null): string => (at === null ? '' : this.#time.format(at * 1000));
  day = (at: number | null): string => (at === null ? '' : this.#day.format(at * 1000));
  /** A date without a year, such as `Nov 17`, from `2026-11-17`. */
  date = (day: string): string => this.#date.format(Date.parse(day));
  number = (value: number): string => this.#number.format(value);
}

type Stem<K> = K extends `${infer S}_one` ? S : never;
export type CountKey = Stem<Key>;

export const words = new Words();
export const t = (key: Key, values?: Record<string, string | number>): string => words.text(key, values);
export const tn = (key: CountKey, n: number, values?: Record<string, string | number>): string => words.count(key, n, values);
export const label = (group: string, value: string): string => words.label(group, value);

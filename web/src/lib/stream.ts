// The end of the text that a model or a command is producing now. Pieces may be lost; a gap is shown as an ellipsis.

import type { StreamText } from './model';

const KEEP = 8_000;

export class StreamTail {
  #id = '';
  #end = 0;
  text = '';
  /** The call that the model is writing, until something else is. */
  call = '';

  add(piece: Pick<StreamText, 'id' | 'offset' | 'text'> & { kind?: StreamText['kind'] }): void {
    if (piece.kind === 'call') {
      this.call = piece.text;
      return;
    }
    this.call = '';
    if (piece.id !== this.#id) {
      this.#id = piece.id;
      this.#end = piece.offset;
      this.text = piece.offset > 0 ? '…' : '';
    }
    // Offsets count characters, as Unicode does, not the units of a JavaScript string.
    const characters = Array.from(piece.text);
    if (piece.offset + characters.length <= this.#end && piece.offset < this.#end) return;
    if (piece.offset > this.#end) this.text += '\n…\n';
    this.text += characters.slice(Math.max(0, this.#end - piece.offset)).join('');
    this.#end = piece.offset + characters.length;
    if (this.text.length > KEEP * 2) this.text = `…${this.text.slice(-KEEP)}`;
  }
}

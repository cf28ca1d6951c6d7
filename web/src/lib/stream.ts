// The end of the text that a model or a command is producing now. Pieces may be lost; a gap is shown as an ellipsis.

import type { StreamText } from './model';

const KEEP = 8_000;

export class StreamTail {
  #id = '';
  #end = 0;
  text = '';

  add(piece: Pick<StreamText, 'id' | 'offset' | 'text'>): void {
    if (piece.id !== this.#id) {
      this.#id = piece.id;
      this.#end = piece.offset;
      this.text = piece.offset > 0 ? '…' : '';
    }
    if (piece.offset + piece.text.length <= this.#end && piece.offset < this.#end) return;
    if (piece.offset > this.#end) this.text += '\n…\n';
    this.text += piece.text.slice(Math.max(0, this.#end - piece.offset));
    this.#end = piece.offset + piece.text.length;
    if (this.text.length > KEEP * 2) this.text = `…${this.text.slice(-KEEP)}`;
  }
}

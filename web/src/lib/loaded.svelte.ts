// Something fetched when it is shown, and again when its stamp changes. The old value stays while the new one comes.

const AGAIN_MS = 500;

export class Loaded<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw('');
  loading = $state.raw(true);
  #tries = $state.raw(0);

  /** To be made while a component starts: it lives as long as the component. */
  constructor(load: () => Promise<T>, stamp: () => string) {
    let first = true;
    let subject = '';
    $effect(() => {
      void this.#tries;
      const now = stamp();
      // The part before the line break names the subject; another subject must not show the old one's value.
      const about = now.split('\n', 1)[0] ?? '';
      if (about !== subject) {
        subject = about;
        this.value = null;
        first = true;
      }
      let current = true;
      const timer = setTimeout(
        () => {
          this.loading = true;
          load().then(
            (value) => {
              if (!current) return;
              this.value = value;
              this.error = '';
              this.loading = false;
            },
            (error: unknown) => {
              if (!current) return;
              this.error = error instanceof Error ? error.message : String(error);
              this.loading = false;
            },
          );
        },
        first ? 0 : AGAIN_MS,
      );
      first = false;
      return () => {
        current = false;
        clearTimeout(timer);
      };
    });
  }

  again(): void {
    this.#tries++;
  }
}

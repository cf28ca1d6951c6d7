// The time in seconds, once a second while the page is seen.

class Clock {
  now = $state.raw(Date.now() / 1000);

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.now = Date.now() / 1000;
    }, 1_000);
  }
}

export const clock = new Clock();

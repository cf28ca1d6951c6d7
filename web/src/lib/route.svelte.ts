// Where the page is: `#/`, `#/new`, `#/stats`, `#/run/ID`, `#/run/ID/step/STEP/TAB` or `#/run/ID/TAB`.

export type Route =
  | { page: 'runs' }
  | { page: 'new' }
  | { page: 'stats' }
  | { page: 'run'; run: string; step: string | null; tab: string };

export function parseRoute(fragment: string): Route {
  const parts = fragment.replace(/^#\/?/, '').split('?', 1)[0]!.split('/').filter(Boolean).map(decode);
  if (parts[0] === 'new') return { page: 'new' };
  if (parts[0] === 'stats') return { page: 'stats' };
  if (parts[0] === 'run' && parts[1]) {
    if (parts[2] === 'step' && parts[3]) return { page: 'run', run: parts[1], step: parts[3], tab: parts[4] ?? '' };
    return { page: 'run', run: parts[1], step: null, tab: parts[2] ?? '' };
  }
  return { page: 'runs' };
}

export function formatRoute(route: Route): string {
  if (route.page === 'runs') return '#/';
  if (route.page === 'new') return '#/new';
  if (route.page === 'stats') return '#/stats';
  const step = route.step === null ? [] : ['step', route.step];
  return `#/${['run', route.run, ...step, route.tab].filter(Boolean).map(encodeURIComponent).join('/')}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

class Router {
  route = $state.raw<Route>({ page: 'runs' });
  /** Whether the browser is on its way to the entry before this one. */
  #returning = false;

  start(): void {
    this.route = parseRoute(location.hash);
    window.addEventListener('hashchange', () => {
      if (!this.#returning) this.route = parseRoute(location.hash);
      else {
        this.#returning = false;
        this.go(this.route);
      }
    });
  }

  go(route: Route, replace = false): void {
    const fragment = formatRoute(route);
    this.route = route;
    if (this.#returning) return;
    if (replace) history.replaceState(history.state, '', fragment);
    else if (location.hash !== fragment) history.pushState({ from: location.hash }, '', fragment);
  }

  /** Leave what was opened, so that Back does not open it again. */
  leave(route: Route): void {
    const from: unknown = (history.state as { from?: unknown } | null)?.from;
    if (this.#returning || from !== formatRoute(route)) return this.go(route, true);
    this.route = route;
    this.#returning = true;
    history.back();
  }
}

export const router = new Router();

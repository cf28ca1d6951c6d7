// The token arrives in the fragment of the address, which no server and no log sees. It moves to this tab's storage.

const NAME = 'surefoot-token';

export interface Landing {
  token: string | null;
  /** The fragment to show instead, without the token. */
  fragment: string;
}

/** Understands `#t=TOKEN`, `#t=TOKEN&run=ID` and `#/run/ID?t=TOKEN`. */
export function readFragment(fragment: string): Landing {
  const text = fragment.replace(/^#/, '');
  if (text.startsWith('/')) {
    const [path = '/', query = ''] = text.split('?', 2);
    const values = new URLSearchParams(query);
    const token = values.get('t');
    if (token === null) return { token: null, fragment };
    values.delete('t');
    const rest = values.toString();
    return { token, fragment: `#${path}${rest ? `?${rest}` : ''}` };
  }
  const values = new URLSearchParams(text);
  const run = values.get('run');
  const target = run ? `#/run/${encodeURIComponent(run)}` : '#/';
  return { token: values.get('t'), fragment: text ? target : '#/' };
}

/** Take the token out of the address bar and return the one to use. */
export function takeToken(): string {
  const { token, fragment } = readFragment(location.hash);
  if (token !== null || location.hash !== fragment) history.replaceState(null, '', fragment);
  try {
    if (token) sessionStorage.setItem(NAME, token);
    return token ?? sessionStorage.getItem(NAME) ?? '';
  } catch {
    return token ?? '';
  }
}

// Requests with the token as a Bearer header.

import { ApiError } from './source';

export class Http {
  constructor(
    readonly base: string,
    readonly token: string,
    private readonly onDenied: () => void = () => undefined,
  ) {}

  async get<T>(path: string): Promise<T> {
    return (await this.#fetch(path, {})).json() as Promise<T>;
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    const init = { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    return (await this.#fetch(path, init)).json() as Promise<T>;
  }

  async blob(path: string): Promise<Blob> {
    return (await this.#fetch(path, {})).blob();
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('Authorization', `Bearer ${this.token}`);
    headers.set('Accept', 'application/json, */*');
    const response = await fetch(this.base + path, { ...init, headers, cache: 'no-store', credentials: 'omit' });
    if (response.ok) return response;
    if (response.status === 401) this.onDenied();
    throw await readError(response);
  }
}

async function readError(response: Response): Promise<ApiError> {
  let code = String(response.status);
  let message = response.statusText || `HTTP ${response.status}`;
  let remedy = '';
  try {
    const body: unknown = await response.json();
    if (isRecord(body)) {
      if (isRecord(body['error'])) {
        code = String(body['error']['code'] ?? code);
        message = String(body['error']['message'] ?? message);
        remedy = String(body['error']['remedy'] ?? '');
      } else if (body['refused'] === true) {
        code = 'refused';
        message = String(body['reason'] ?? message);
      }
    }
  } catch {
    // Not JSON: the status line has to do.
  }
  return new ApiError(response.status, code, message, remedy);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

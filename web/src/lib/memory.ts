// Choices of a person that outlive the page. Storage may be missing, as in a file opened from disk.

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(`surefoot-${name}`);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`surefoot-${name}`, value);
  } catch {
    // Then the choice lasts as long as the page.
  }
}

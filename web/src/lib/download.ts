// Saves data as a file. Done by a link to the data in memory, because the token cannot be part of an address.

export function save(data: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(data);
  link.download = name.replace(/[/\\]/g, '_');
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Whether a stored payload is encrypted, with any key. */
export function isEncrypted(payload: string): boolean {
  return /^"e1\.[\w-]{8}\.[\w-]{38,}"$/.test(payload)
}

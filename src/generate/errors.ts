/** Says in a sentence why types cannot be written. */
export class DocumentError extends Error {
  override name = 'DocumentError'
}

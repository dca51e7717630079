/** The reason for which types cannot be written, in one sentence. */
export class DocumentError extends Error {
  override name = 'DocumentError'
}

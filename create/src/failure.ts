/** Ends the command with one sentence. */
export class Failure extends Error {
  override name = 'Failure'
  /** The exit code: 2 for a wrong command line. */
  readonly code: number

  constructor(message: string, code = 1) {
    super(message)
    this.code = code
  }
}

/** An error that the operator can correct: printed as a sentence, without a stack. */
export class Failure extends Error {
  /** 1: the command failed; 2: its arguments are wrong. */
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.name = 'Failure'
    this.exitCode = exitCode
  }
}

/** A mistake of whoever runs the command: shown as its sentence, without a stack. */
export class Failure extends Error {
  /** 1: the command could not be done; 2: it was written wrongly. */
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.name = 'Failure'
    this.exitCode = exitCode
  }
}

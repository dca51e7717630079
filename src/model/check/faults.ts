/** What is wrong with a model: every fault, each with its place. */

export interface ModelFault {
  /** The way to it in the declaration, e.g. `posts.access.read`. */
  readonly place: string
  readonly message: string
}

/** Thrown by `checkModel`; tells all faults at once. */
export class ModelError extends Error {
  readonly faults: readonly ModelFault[]

  constructor(faults: readonly ModelFault[]) {
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
    super(`The model has ${count}:${faults.map(fault => `\n  ${fault.place}: ${fault.message}`).join('')}`)
    this.name = 'ModelError'
    this.faults = faults
  }
}

/** Where faults are gathered. */
export class Faults {
  readonly list: ModelFault[] = []

  add(place: string, message: string): void {
    this.list.push({ place, message })
  }

  addUnless(fine: boolean, place: string, message: string): void {
    if (!fine) this.add(place, message)
  }
}

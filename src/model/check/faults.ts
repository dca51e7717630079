/** The faults of a model, each with its place. */

export interface ModelFault {
  /** The path in the declaration, e.g. `posts.access.read`. */
  readonly place: string
  readonly message: string
}

/** `checkModel` throws it with all faults at once. */
export class ModelError extends Error {
  readonly faults: readonly ModelFault[]

  constructor(faults: readonly ModelFault[]) {
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
    super(`The model has ${count}:${faults.map(fault => `\n  ${fault.place}: ${fault.message}`).join('')}`)
    this.name = 'ModelError'
    this.faults = faults
  }
}

/** Collects faults. */
export class Faults {
  readonly list: ModelFault[] = []

  add(place: string, message: string): void {
    this.list.push({ place, message })
  }

  addUnless(fine: boolean, place: string, message: string): void {
    if (!fine) this.add(place, message)
  }
}

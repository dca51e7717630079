/** A number per collection that grows with every commit that may have changed it. */

export interface Version {
  value: number
}

export class Versions {
  readonly #cells = new Map<string, Version>()

  cell(collection: string): Version {
    const existing = this.#cells.get(collection)
    if (existing) return existing
    const cell = { value: 1 }
    this.#cells.set(collection, cell)
    return cell
  }

  bump(collections: Iterable<string>): void {
    for (const collection of collections) this.cell(collection).value++
  }

  bumpAll(): void {
    for (const cell of this.#cells.values()) cell.value++
  }
}

/** One number that changes when any of the versions does. A sum will do: versions only grow. */
export function stampOf(versions: readonly Version[]): number {
  let sum = 0
  for (const version of versions) sum += version.value
  return sum
}

/** The callers who wait for the answer to one read. */
export class WaitingCallers {
  readonly #callers: Set<string>
  /** Called when another caller has joined. */
  onJoin = (): void => {}

  /** `caller`: see `Principal.budgetKey`; '': Portico itself. */
  constructor(caller: string) {
    this.#callers = new Set([caller])
  }

  get callers(): ReadonlySet<string> {
    return this.#callers
  }

  join(caller: string): void {
    if (this.#callers.has(caller)) return
    this.#callers.add(caller)
    this.onJoin()
  }
}

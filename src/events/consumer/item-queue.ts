/** What is to be done for one item, in the order of its events. */

/** Something to be done: a task of a webhook, an event for a reaction, a run of a job. */
export interface Task {
  readonly id: number | string
  /** What keeps its order. */
  readonly itemKey: string
  /** Its number in the log; null: it is about none. */
  readonly event: number | null
  /** In milliseconds since 1970. */
  readonly dueAt: number
}

export class ItemQueue<T extends Task> {
  readonly key: string
  /** Whether the first task is being done. */
  isRunning = false
  /** For when it is to be looked at again. */
  plannedAt: number | undefined
  readonly #tasks: T[] = []

  constructor(key: string) {
    this.key = key
  }

  get head(): T | undefined {
    return this.#tasks[0]
  }

  get lowestEvent(): number | undefined {
    return this.head?.event ?? undefined
  }

  /** Returns whether it was new. One that is being done stays the first. */
  add(task: T): boolean {
    const tasks = this.#tasks
    const known = tasks.findIndex(({ id }) => id === task.id)
    if (known !== -1) {
      if (known > 0 || !this.isRunning) tasks[known] = task
      return false
    }
    let index = tasks.length
    const first = this.isRunning ? 1 : 0
    while (index > first && isBefore(task, tasks[index - 1])) index--
    tasks.splice(index, 0, task)
    return true
  }

  replace(task: T, by: T): void {
    const index = this.#tasks.indexOf(task)
    if (index !== -1) this.#tasks[index] = by
  }

  remove(task: T): void {
    const index = this.#tasks.indexOf(task)
    if (index !== -1) this.#tasks.splice(index, 1)
  }
}

function isBefore(one: Task, other: Task | undefined): boolean {
  return other !== undefined && (one.event ?? 0) < (other.event ?? 0)
}

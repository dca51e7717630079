/** The tasks of one item, in the order of its events. */

import type { EpochMs } from '../../base/epoch-ms.ts'

/** A unit of work: a delivery of a webhook, an event for a reaction, a run of a job. */
export interface Task {
  readonly id: number | string
  /** Tasks with the same key keep their order. */
  readonly itemKey: string
  /** The number of its event in the log; null if it has none. */
  readonly event: number | null
  readonly dueAt: EpochMs
}

export class ItemQueue<T extends Task> {
  readonly key: string
  /** Whether the first task is in progress. */
  isRunning = false
  /** The time for which the timetable has a call for this item. */
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

  /** Returns whether the task was new. A task in progress stays the first. */
  add(task: T): boolean {
    const tasks = this.#tasks
    const existingIndex = tasks.findIndex(({ id }) => id === task.id)
    if (existingIndex !== -1) {
      if (existingIndex > 0 || !this.isRunning) tasks[existingIndex] = task
      return false
    }
    let index = tasks.length
    const first = this.isRunning ? 1 : 0
    while (index > first && isBefore(task, tasks[index - 1])) index--
    tasks.splice(index, 0, task)
    return true
  }

  replace(task: T, replacement: T): void {
    const index = this.#tasks.indexOf(task)
    if (index !== -1) this.#tasks[index] = replacement
  }

  remove(task: T): void {
    const index = this.#tasks.indexOf(task)
    if (index !== -1) this.#tasks.splice(index, 1)
  }
}

function isBefore(task: Task, other: Task | undefined): boolean {
  return other !== undefined && (task.event ?? 0) < (other.event ?? 0)
}

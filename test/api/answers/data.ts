/** Rows with the largest texts that the limits of request bodies allow, and many rows with long ones. */

import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import { createBySystem, createKey } from '../../../src/identity/bootstrap.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { Declaration } from '../../../src/model/declaration.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import blog from '../../models/blog.ts'
import tracker from '../../models/tracker.ts'
import type { Deployment } from '../../setups/setup.ts'
import type { NewItems } from './requests.ts'

type Create = (collection: string, values: Readonly<Record<string, unknown>>) => Promise<number>

export interface Sample {
  readonly declaration: Declaration
  readonly newItems: NewItems
  fill(create: Create, userIds: readonly number[]): Promise<void>
}

const megabyte = 1_000_000
/** Characters of one byte, of three, and with escapes. */
const texts = ['x', '雪', '"'].map(character => character.repeat(megabyte / 10))

export const samples: Readonly<Record<'blog' | 'tracker', Sample>> = {
  blog: {
    declaration: blog,
    newItems: { posts: { title: 'new' } },
    async fill(create, [first, second]) {
      for (let index = 0; index < 12; index++) {
        await create('posts', { title: `${index}`, body: 'x'.repeat(megabyte), author_id: first })
      }
      for (let index = 0; index < 60; index++) {
        await create('posts', { title: `${index}`, body: texts[index % texts.length], author_id: second })
      }
    },
  },
  tracker: {
    declaration: tracker,
    newItems: {
      organizations: undefined,
      memberships: undefined,
      projects: { organization_id: 1, name: 'new' },
      tasks: { project_id: 2, title: 'new', status: 'done' },
      comments: { task_id: 1, body: 'new' },
    },
    async fill(create, userIds) {
      await create('organizations', { name: '雪'.repeat(100) })
      for (const user_id of userIds)
        await create('memberships', { organization_id: 1, user_id, role: 'admin' })
      for (const name of ['first', 'second']) await create('projects', { organization_id: 1, name })
      const task = { project_id: 1, title: '雪'.repeat(200), status: 'done', assignee_id: 1 }
      for (let index = 0; index < 60; index++) {
        const details = index < 6 ? 'x'.repeat(megabyte) : texts[index % texts.length]
        await create('tasks', { ...task, details })
      }
      for (let index = 0; index < 60; index++) {
        const body = (texts[index % texts.length] ?? '').slice(0, 10_000)
        await create('comments', { task_id: 1, author_id: userIds[0], body })
      }
    },
  },
}

/** Returns the key of a user who may read and write all of it. */
export async function fillWith({ declaration, fill }: Sample, deployment: Deployment): Promise<string> {
  const model = checkModel(declaration)
  const store = await deployment.openStore(model)
  try {
    const run = createRun(createGuard(model), store)
    const create: Create = (collection, values) => createBySystem(run, collection, values as never, {})
    const userIds: number[] = []
    for (const name of ['ann', 'ben']) {
      userIds.push(await create('users', { name, email: `${name}@example.com`, role: 'admin' }))
    }
    await fill(create, userIds)
    return await createKey(run, userIds[0] ?? 0, { name: 'all', scopes: ['*'] })
  } finally {
    await store.close()
  }
}

import { test } from 'node:test'
import { checkModel } from '../../src/model/check.ts'
import { anonymous, user } from '../../src/principal.ts'
import { openBench } from '../contract/rest/bench.ts'
import { kinds, openStore } from '../contract/rest/databases.ts'
import workshop from '../models/workshop.ts'

for (const kind of kinds)
  test(kind.name, async () => {
    const bench = await openBench(checkModel(workshop), m => openStore(kind, m))
    try {
      await bench.seed('users', { name: 'Ann', email: 'a@example.com' })
      await bench.seed('users', { name: 'Ben', email: 'b@example.com' })
      await bench.seed('projects', {
        name: 'One',
        budget: 10,
        seats: 3,
        note: 'x',
        starts: '2026-11-23',
        owner_id: 1,
      })
      await bench.seed('projects', { name: 'Two', budget: 1 / 3, seats: 0, owner_id: 2, parent_id: 1 })
      await bench.seed('tasks', { title: 'a', points: 3, hours: 0.1, project_id: 1, assignee_id: 1 })
      await bench.seed('tasks', {
        title: 'b',
        points: 5,
        hours: 0.2,
        due: '2026-01-01',
        project_id: 1,
        assignee_id: 2,
      })
      await bench.seed('tasks', {
        title: 'c',
        points: 7,
        hidden: true,
        status: 'done',
        project_id: 1,
        assignee_id: 2,
      })
      const names = [...checkModel(workshop).collections.get('projects')!.computed.keys()].filter(
        n => n !== 'audited',
      )
      for (const who of [user(1, 'user', 'all'), user(2, 'user', 'all'), anonymous('192.0.2.1')]) {
        const r = await bench.send({ url: '/api/v1/projects?fields=name,' + names.join(',') }, who)
        console.log(kind.name, r.status, r.body)
      }
      for (const name of names) {
        for (const q of [
          `sort=-${name}&fields=id,${name}`,
          `sort=${name},name&cursor=&per_page=1&fields=id`,
          `${name}[null]=false&fields=id`,
          `include=tasks&fields=*,${name}`,
        ]) {
          const r = await bench.send({ url: '/api/v1/projects?' + q }, user(1, 'user', 'all'))
          if (r.status !== 200) console.log(q, r.status, r.body)
          if (q.includes('cursor')) {
            const c = JSON.parse(r.body as string).meta.next_cursor
            const s = await bench.send(
              { url: '/api/v1/projects?' + q.replace('cursor=', 'cursor=' + c) },
              user(1, 'user', 'all'),
            )
            if (s.status !== 200) console.log(q, s.status, s.body)
          }
        }
      }
    } finally {
      await bench.close()
    }
  })

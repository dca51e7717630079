/** A model whose code leaves unhandled rejections. Served by a separate process. */
import { action, collection, every, model, on, text, users } from 'portico'

const stray = (place: string) => {
  void Promise.reject(new Error(`stray in ${place}`))
}

export default model(
  {
    users: users({}),
    notes: collection({ fields: { title: text() } }),
  },
  {
    actions: {
      leave: action({
        of: 'notes',
        async run({ data }) {
          await data.notes.create({ title: 'left' })
          stray('an action')
        },
      }),
      late: action({
        of: 'notes',
        run() {
          setImmediate(() => stray('a timer'))
        },
      }),
      mistake: action({
        of: 'notes',
        async run({ data }) {
          await data.notes.list({ sort: ['titel'] as never })
        },
      }),
    },
    reactions: { noted: on('note.created', () => stray('a reaction')) },
    jobs: { hourly: every('hour', () => stray('a job')) },
  },
)

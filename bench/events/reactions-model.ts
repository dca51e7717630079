/** The model with the measured reaction: `PORTICO_BENCH_REACTION` selects one that does nothing, or one that reads and writes. */
import { anyone, collection, integer, model, on, role, text } from 'portico'

const reactions = {
  nothing: on('task.created', () => undefined),
  /** A read and a write, as a reaction does that maintains a sum. */
  writing: on('task.created', async ({ event, data }) => {
    const task = await data['tasks']?.get(event.item_id)
    await data['sums']?.create({ task: Number(task?.['id']) })
  }),
}
const name = process.env['PORTICO_BENCH_REACTION'] ?? 'nothing'

export default model(
  {
    tasks: collection({
      fields: { title: text() },
      access: { read: anyone, create: role('admin'), update: role('admin') },
    }),
    sums: collection({ fields: { task: integer() }, access: { read: anyone, create: role('admin') } }),
  },
  { reactions: name === 'writing' ? { writing: reactions.writing } : { nothing: reactions.nothing } },
)

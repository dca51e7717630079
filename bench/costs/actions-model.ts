/** The model with the measured action: five reads and five writes, compared with a plain create. */
import { action, anyone, collection, integer, model, text } from 'portico'

const writes = 5

export default model(
  {
    notes: collection({
      fields: { title: text(), count: integer({ default: 0 }) },
      access: { read: anyone, create: anyone, update: anyone },
    }),
  },
  {
    actions: {
      work: action({
        of: 'notes',
        input: { first: integer({ min: 1 }), title: text() },
        output: { sum: integer() },
        access: anyone,
        async run({ input, data }) {
          let sum = 0
          for (let index = 0; index < writes; index++) {
            const note = await data.notes.get(input.first + index)
            if (note === null) throw new Error('The benchmark creates the notes before it calls the action.')
            sum += note.count
            if (index === 0) await data.notes.create({ title: input.title })
            else await data.notes.update(note.id, { count: note.count + 1 })
          }
          return { sum }
        },
      }),
    },
  },
)

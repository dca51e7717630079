/**
 * Descriptions that would escape from a comment, string or line of generated code, and names that are TypeScript
 * keywords.
 */
import { action, anyone, choice, collection, integer, json, model, relation, text } from '../../src/index.ts'

const hostile = `Ends */ export const evil: number = "x" /* here,\n * @ts-expect-error\n@deprecated \`\${process.exit(1)}\` \u2028 \u202e </script>`

export default model(
  {
    apis: collection({
      singular: 'api',
      description: hostile,
      fields: {
        class: text({ description: hostile }),
        interface: choice(['unknown', 'never', 'null'], { description: '@ts-expect-error' }),
        data: json({ optional: true, description: '/* @ts-ignore' }),
      },
      access: { read: anyone, create: anyone, update: anyone, delete: anyone },
    }),
    clients: collection({
      description: '@ts-nocheck',
      fields: { api_id: relation('apis', { inverse: 'clients' }) },
      access: { read: anyone, create: anyone },
    }),
  },
  {
    actions: {
      call: action({
        on: 'apis',
        description: hostile,
        input: { delete: integer({ description: hostile }) },
        output: { function: text() },
        access: anyone,
        run: () => ({ function: '' }),
      }),
    },
  },
)

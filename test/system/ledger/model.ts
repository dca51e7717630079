/** Items that count their changes: `version` starts at 0 and increases by one with every change. */
import { anyone, collection, integer, model, signedIn } from '../../../src/index.ts'

export default model({
  entries: collection({
    fields: { version: integer() },
    access: { read: anyone, create: signedIn, update: signedIn, delete: signedIn },
  }),
})

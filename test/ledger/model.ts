/** Items that count their changes: `version` is 0 at first, and one more with every change. */
import { anyone, collection, integer, model, signedIn } from '../../src/index.ts'

export default model({
  entries: collection({
    fields: { version: integer() },
    access: { read: anyone, create: signedIn, update: signedIn, delete: signedIn },
  }),
})

/** The second reference model, imported from the sources like `blog.ts`. */
import { createRequire } from 'node:module'
import './blog.ts'

const require = createRequire(import.meta.url)
const {
  default: tracker,
}: typeof import('../../examples/tracker/model.ts') = require('../../examples/tracker/model.ts')
export default tracker

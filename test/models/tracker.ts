/** The second reference model, imported from the sources like `blog.ts`. */
import './blog.ts'

const { default: tracker } = await import('../../examples/tracker/model.ts')
export default tracker

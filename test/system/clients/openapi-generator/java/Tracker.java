import com.google.gson.GsonBuilder;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.OrganizationsApi;
import org.openapitools.client.api.ProjectsApi;
import org.openapitools.client.api.TasksApi;
import org.openapitools.client.model.*;

/** A project and its task, by nothing but the classes that openapi-generator has made. */
public class Tracker {
  public static void main(String[] args) throws ApiException {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("SERVICE"));
    client.setBearerToken(System.getenv("TOKEN"));
    TasksApi tasks = new TasksApi(client);
    Organization organization =
        new OrganizationsApi(client)
            .foundOrganization(new FoundOrganizationInput().name("Engines"), null, null, null);
    ProjectCreate loom = new ProjectCreate().organizationId(organization.getId()).name("Loom");
    Project project = new ProjectsApi(client).createProject(loom, null, null, null);
    TaskCreate weave =
        new TaskCreate()
            .projectId(project.getId())
            .title("Weave")
            .status(TaskStatus.TaskStatusDoing);
    Task created = tasks.createTask(weave, null, null, null);
    TaskUpdate change = new TaskUpdate().status(TaskStatus.TaskStatusDone).details(null);
    Task updated = tasks.updateTask(created.getId(), change, null, null, null, null);
    TaskList listed =
        tasks.listTasksOfProject(
            project.getId(), null, null, null, null, null, null, null, null, null, null);
    tasks.trashTask(created.getId(), null);
    Task trashed = tasks.getTask(created.getId(), null, null, null);
    Map<String, Object> seen = new LinkedHashMap<>();
    seen.put("created", Arrays.asList(created.getTitle(), created.getStatus().getValue(), created.getPoints()));
    seen.put("updated", Arrays.asList(updated.getStatus().getValue(), updated.getDetails()));
    seen.put("listed", listed.getData().stream().map(Task::getTitle).collect(Collectors.toList()));
    seen.put("trashed", trashed.getDeletedAt() != null);
    System.out.print(new GsonBuilder().serializeNulls().create().toJson(seen));
  }
}

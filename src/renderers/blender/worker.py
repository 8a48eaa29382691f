"""Runs inside Blender for `quickDeploy: blender`: reads jobs as JSON lines, renders them, and answers in JSON lines."""
import glob, json, math, os, random, re, runpy, sys, time, traceback
from contextlib import suppress

import bmesh
import bpy
from mathutils import Matrix, Vector, noise

UP = Matrix.Rotation(math.pi / 2, 4, "X")  # Layouts have y up.
ANY_WAY = Vector((1, 17.13, 311.7))

# The line protocol keeps the real stdout. Output of Blender is discarded, output of Python goes to the log.
PROTOCOL = os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
sys.stdout = sys.stderr

# The glTF importer of older releases uses types that newer versions of numpy no longer have.
with suppress(ImportError):
    import numpy
    vars(numpy).update({kind.__name__: kind for kind in (bool, int, float, object)})

class Refused(Exception):
    """Error of a job that cannot be rendered; the message is a sentence for its sender."""

def tell(message):
    PROTOCOL.write(json.dumps(message, allow_nan=False).encode() + b"\n")
    PROTOCOL.flush()

def main():
    old = f"Blender {bpy.app.version_string} is too old; version 3.3 or later is needed"
    tell({"failed": old} if bpy.app.version < (3, 3, 0) else {"ready": True})
    for line in sys.stdin.buffer:
        job = json.loads(line)
        try:
            tell({"output": render(job)})
        except Refused as refused:
            tell({"error": str(refused)})
        except Exception as error:
            traceback.print_exc()
            tell({"error": f"Blender: {str(error).strip() or type(error).__name__}"})

def render(job):
    random.seed(job["seed"])
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    open_source(job)
    missing = disarm(job["root"]) if job["kind"] in ("blend", "gltf", "obj") else []
    scene = bpy.context.scene
    if job["frame"] is not None:
        scene.frame_set(job["frame"])
    paint(job["materials"] or {})
    device = configure(scene, job)
    if job["kind"] in ("scene", "gltf", "obj"):
        scene.view_settings.view_transform = "Standard"
    light(scene, job)
    aim(scene, job["camera"], job["usualCamera"])
    engine = "cycles" if scene.render.engine == "CYCLES" else "eevee"
    answer = {"engine": engine, "device": device, **take_picture(scene, job)}
    return {**answer, "missing_files": missing} if missing else answer

def open_source(job):
    kind, path = job["kind"], job["path"]
    if kind == "scene":
        build(bpy.context.scene, job["plan"])
    elif kind == "script":
        try:
            runpy.run_path(path, {"job": job["input"]}, "__main__")
        except SystemExit as end:
            if end.code:
                raise Refused(f"the script exited with {end.code}{place_in(path, end)}")
        except Exception as error:
            traceback.print_exc()
            what = error.msg if isinstance(error, SyntaxError) else str(error).strip()
            raise Refused(f"the script failed{place_in(path, error)}: {type(error).__name__}: {what}")
    elif kind == "blend":
        bpy.ops.wm.open_mainfile(filepath=path, load_ui=False, use_scripts=False)
    elif kind == "gltf":
        bpy.ops.import_scene.gltf(filepath=path)
    else:
        bpy.ops.wm.obj_import(filepath=path)

def place_in(path, error):
    """Returns the file and line of an error inside the script's folder, as text."""
    folder = os.path.dirname(path)
    at = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    at += [(error.filename, error.lineno)] if isinstance(error, SyntaxError) else []
    own = [place for place in at if str(place[0]).startswith(folder + os.sep)]
    return f" in {os.path.relpath(own[-1][0], folder)}, line {own[-1][1]}" if own else ""

def disarm(root):
    """Removes everything that runs code or writes files, refuses files linked from elsewhere, returns missing ones."""
    owners = (bpy.data.scenes, bpy.data.materials, bpy.data.worlds, bpy.data.lights, bpy.data.linestyles)
    trees = [getattr(item, "node_tree", None) for items in owners for item in items] + list(bpy.data.node_groups)
    # OSL shaders are disabled, and an output node without a file name would write into a folder of the disk.
    for tree in filter(None, trees):
        for node in [node for node in tree.nodes if node.bl_idname in ("CompositorNodeOutputFile", "ShaderNodeScript")]:
            tree.nodes.remove(node)
    for item in bpy.data.objects:
        for modifier in [each for each in item.modifiers if each.type == "FLUID"]:
            item.modifiers.remove(modifier)
    for scene in bpy.data.scenes:
        scene.render.use_freestyle = scene.render.use_sequencer = scene.cycles.shading_system = False
    paths = set(bpy.utils.blend_paths(absolute=True, packed=False, local=False))
    for path in paths:
        # A pattern of tiles or frames stands for every file that matches.
        name = re.sub(r"<[A-Z]+>|\d+", "*", glob.escape(os.path.basename(path)))
        for each in [path, *glob.glob(os.path.join(glob.escape(os.path.dirname(path)), name))]:
            if not os.path.realpath(each).startswith(root + os.sep):
                raise Refused(f"the linked file {path[:200]} is outside of the folder that the endpoint allows")
    return sorted(os.path.relpath(path, root) for path in paths if "<" not in path and not os.path.exists(path))

def configure(scene, job):
    """Applies size, engine, samples and seed; returns the device."""
    render = scene.render
    is_own = job["kind"] in ("blend", "script") and render.engine == "CYCLES"
    scale = render.resolution_percentage / 100
    own = (render.resolution_x * scale, render.resolution_y * scale) if job["kind"] == "blend" else (768, 512)
    render.resolution_x, render.resolution_y = job["width"] or round(own[0]), job["height"] or round(own[1])
    render.resolution_percentage = 100
    if render.resolution_x * render.resolution_y > job["maxPixels"]:
        raise Refused(f"the picture would have more than {job['maxPixels']} pixels; set `width` and `height`")
    render.use_multiview = render.use_persistent_data = render.use_crop_to_border = False
    # Most files are saved with Eevee, which many machines cannot run, so it is only used on request.
    if job["engine"] == "eevee":
        if bpy.app.version < (4, 2, 0) and not os.environ.get("DISPLAY"):
            raise Refused("Eevee of this Blender needs a display, and the service has none; set `engine` to cycles")
        render.engine = "BLENDER_EEVEE_NEXT" if (4, 2, 0) <= bpy.app.version < (5, 0, 0) else "BLENDER_EEVEE"
    else:
        render.engine = "CYCLES"
    own = min(scene.cycles.samples, job["maxSamples"])
    scene.cycles.samples = scene.eevee.taa_render_samples = job["samples"] or (own if is_own else 32)
    scene.cycles.device, scene.cycles.use_animated_seed = "CPU", False
    scene.cycles.seed = job["seed"] & 0x7FFFFFFF
    scene.cycles.use_denoising &= getattr(sys.modules["_cycles"], "with_openimagedenoise", False)
    return choose_device(scene, job["device"] or "auto") if render.engine == "CYCLES" else "gpu"

def choose_device(scene, wanted):
    """Selects and returns the first kind of device that is available."""
    preferences = bpy.context.preferences.addons["cycles"].preferences
    for kind in {"cpu": [], "auto": ["optix", "cuda", "hip", "oneapi"]}.get(wanted, [wanted]):
        with suppress(TypeError, ValueError):  # Some builds of Blender have no such devices.
            preferences.compute_device_type = kind.upper()
            for device in preferences.get_devices_for_type(kind.upper()):
                device.use = device.type == kind.upper()
                scene.cycles.device = "GPU" if device.use else scene.cycles.device
            if scene.cycles.device == "GPU":
                return kind
    if wanted not in ("cpu", "auto"):
        raise Refused(f"`device` is {wanted}, but Blender finds no such GPU on this machine; use cpu, or auto")
    return "cpu"

def paint(materials):
    sockets = {"color": "Base Color", "roughness": "Roughness", "metallic": "Metallic", "alpha": "Alpha"}
    for name, values in materials.items():
        if name not in bpy.data.materials:
            names = ", ".join(sorted(bpy.data.materials.keys())[:20]) or "none"
            raise Refused(f"`materials` names {name}, which is not there; there are: {names}")
        material = bpy.data.materials[name]
        material.use_nodes = True
        for surface in [node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED"]:
            for key, value in values.items():
                for link in list(surface.inputs[sockets[key]].links):
                    material.node_tree.links.remove(link)
                put(surface, sockets[key], value)

def light(scene, job):
    """Adds the requested sun. Models also get a ground and, if they have no lamps, a sun and an even sky."""
    is_model, wanted = job["kind"] in ("gltf", "obj"), job["light"] or job["usualLight"]
    lamps = [item for item in scene.objects if item.type == "LIGHT"]
    if is_model and job["ground"] is not False:
        low = min((point.z for item in solids(scene) for point in corners(item)), default=0)
        ground = bmesh.new()
        bmesh.ops.create_circle(ground, cap_ends=True, radius=1000, segments=64, matrix=Matrix.Translation((0, 0, low)))
        add_object(scene, "ground", ground, [make_material("ground studio", (0.62, 0.62, 0.62), None)], True)
    if job["light"] is None and not (is_model and not lamps):
        return
    for lamp in lamps:
        bpy.data.objects.remove(lamp)
    add_sun(scene, Vector(wanted["to"]), [wanted["strength"] * part for part in wanted["color"]], 8)
    if is_model:
        set_world(scene, [wanted["sky"]] * 3)

def add_sun(scene, to, colour, degrees):
    lamp = bpy.data.lights.new("sun", "SUN")
    lamp.energy, lamp.angle = max(1e-6, *colour), math.radians(degrees)
    lamp.color = [part / lamp.energy for part in colour]
    sun = bpy.data.objects.new("sun", lamp)
    sun.rotation_euler = to.to_track_quat("Z", "Y").to_euler()
    scene.collection.objects.link(sun)

def set_world(scene, colour, strength=1, sky=()):
    """Sets an even colour, or an image of the sky all around and another one that only the camera sees."""
    world = scene.world = bpy.data.worlds.new("world")
    world.use_nodes = True
    nodes, links = world.node_tree.nodes, world.node_tree.links
    background = nodes["Background"]
    background.inputs[0].default_value, background.inputs[1].default_value = (*colour, 1), strength
    if not sky:
        return
    names = "TexEnvironment TexImage TexCoord Background MixShader LightPath"
    around, seen, place, second, mix, path = (nodes.new(f"ShaderNode{name}") for name in names.split())
    world.cycles.sampling_method, world.cycles.sample_map_resolution = "MANUAL", 128
    around.image, seen.image = (bpy.data.images.load(each) for each in sky)
    seen.extension = "EXTEND"
    join(links, around.outputs[0], background.inputs[0], place.outputs["Window"], seen.inputs[0], seen.outputs[0],
         second.inputs[0], path.outputs["Is Camera Ray"], mix.inputs[0], background.outputs[0], mix.inputs[1],
         second.outputs[0], mix.inputs[2], mix.outputs[0], nodes["World Output"].inputs[0])

def join(links, *ends):
    for output, socket in zip(ends[::2], ends[1::2]):
        links.new(output, socket)

def solids(scene):
    shown = {"MESH", "CURVE", "SURFACE", "META", "FONT", "VOLUME", "CURVES", "POINTCLOUD"}
    bpy.context.view_layer.update()
    visible = [item for item in scene.view_layers[0].objects if item.type in shown and not item.hide_render]
    return sorted(visible, key=lambda item: item.name)

def corners(item):
    seen = item.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return [seen.matrix_world @ Vector(corner) for corner in seen.bound_box]

def aim(scene, wanted, usual):
    """Sets the camera. Without one in the file, it frames all objects from the front, a little from above and aside."""
    if isinstance(wanted, str):
        cameras = {item.name: item for item in scene.objects if item.type == "CAMERA"}
        if wanted not in cameras:
            raise Refused(f"`camera` names {wanted}, which is not there; there are: {', '.join(cameras) or 'none'}")
        scene.camera = cameras[wanted]
    if isinstance(wanted, str) or (wanted is None and scene.camera is not None):
        return
    wanted = wanted or usual
    camera = bpy.data.cameras.new("camera")
    camera.lens, camera.clip_start, camera.clip_end = wanted["lens"], 1e-3, 1e5
    scene.camera = bpy.data.objects.new("camera", camera)
    scene.collection.objects.link(scene.camera)
    points = [point for item in solids(scene) if not item.get("isAround") for point in corners(item)] or [Vector()]
    low, high = (Vector([bound(point[axis] for point in points) for axis in range(3)]) for bound in (min, max))
    to = Vector(wanted["look_at"]) if "look_at" in wanted else (low + high) / 2
    back = Vector(wanted["location"]) - to if "location" in wanted else Vector(wanted["from"])
    turn = back.to_track_quat("Z", "Y")
    if "location" not in wanted:
        frame = camera.view_frame(scene=scene)[0]
        wide, tall = (abs(frame[axis] / frame.z) * 0.88 for axis in (0, 1))
        seen = [turn.inverted() @ (point - to) for point in points]
        back *= max(0.01, *(point.z + max(abs(point.x) / wide, abs(point.y) / tall) for point in seen))
    scene.camera.location, scene.camera.rotation_euler = to + back, turn.to_euler()

def build(scene, plan):
    set_world(scene, (0, 0, 0), plan["skyStrength"], plan["sky"])
    add_sun(scene, UP @ Vector(plan["sun"]["to"]), plan["sun"]["light"], plan["sun"]["degrees"])
    shapes = {}
    for item in plan["objects"]:
        solid, paints = bmesh.new(), list({str(part["paint"]): part["paint"] for part in item["parts"]}.values())
        for part in item["parts"]:
            key = json.dumps(part["shape"])
            shapes[key] = shapes.get(key) or make_shape(part["shape"])
            x, y, z = (Matrix.Rotation(turn, 4, axis) for turn, axis in zip(part["turn"], "XYZ"))
            mesh = shapes[key].copy()
            mesh.transform(Matrix.Translation(part["at"]) @ x @ y @ z)
            mesh.polygons.foreach_set("material_index", [paints.index(part["paint"])] * len(mesh.polygons))
            solid.from_mesh(mesh)
            bpy.data.meshes.remove(mesh)
        materials = [make_material(each["material"], each["light"], plan["fog"]) for each in paints]
        turn = Matrix.Rotation(item["yaw"], 4, "Y") @ Matrix.Rotation(item["lean"], 4, "Z")
        thing = add_object(scene, item["name"], solid, materials, item["isAround"])
        thing.matrix_world = UP @ Matrix.Translation(item["at"]) @ turn @ Matrix.Scale(item["scale"], 4)

def add_object(scene, name, solid, materials, is_around):
    mesh = to_mesh(name, solid)
    for material in materials:
        mesh.materials.append(material)
    thing = bpy.data.objects.new(name, mesh)
    thing["isAround"] = is_around
    scene.collection.objects.link(thing)
    return thing

def to_mesh(name, solid):
    mesh = bpy.data.meshes.new(name)
    solid.to_mesh(mesh)
    solid.free()
    mesh.polygons.foreach_set("use_smooth", [True] * len(mesh.polygons))
    if hasattr(mesh, "use_auto_smooth"):
        mesh.use_auto_smooth, mesh.auto_smooth_angle = True, math.pi
    return mesh

def make_shape(shape):
    kind, solid = shape["kind"], bmesh.new()
    if kind == "box":
        bmesh.ops.create_cube(solid, size=1, matrix=Matrix.Diagonal((*shape["size"], 1)))
        radius = min(shape["rounding"], *(side / 2.01 for side in shape["size"]))
        if radius > 0:
            bmesh.ops.bevel(solid, geom=solid.edges[:], offset=radius, segments=3, profile=0.5, affect="EDGES")
    elif kind in ("ball", "lump"):
        for point in bmesh.ops.create_uvsphere(solid, u_segments=32, v_segments=18, radius=0.5)["verts"]:
            at = point.co * 4 + Vector((shape.get("seed", 0) * 7.3, 0, 0))
            bump = noise.fractal(at, 1, 2, 3) * shape["bumps"] if kind == "lump" else 0
            point.co = Matrix.Diagonal(shape["size"]) @ point.co * (1 + bump)
    elif kind == "post":
        bottom, top = max(1e-4, shape["bottom"]), max(1e-4, shape["top"])
        bmesh.ops.create_cone(solid, cap_ends=True, segments=shape["sides"], radius1=bottom, radius2=top,
                              depth=shape["height"], matrix=UP.inverted())
    elif kind == "slab":
        sides = (shape["depth"] / 2, -shape["depth"] / 2)
        front, back = ([solid.verts.new((x, y, z)) for x, y in shape["outline"]] for z in sides)
        for face in [front, back[::-1], *zip(back, back[1:] + back[:1], front[1:] + front[:1], front)]:
            solid.faces.new(face)
    else:
        grid = [[solid.verts.new(point) for point in row] for row in shape["rows"]]
        for one, next in zip(grid, grid[1:]):
            for face in zip(one, one[1:], next[1:], next):
                solid.faces.new(face)
        bmesh.ops.remove_doubles(solid, verts=solid.verts, dist=1e-5)
    # Blender's operators order them by address, which differs between processes.
    solid.verts.sort(key=lambda point: point.co.dot(ANY_WAY))
    solid.faces.sort(key=lambda face: face.calc_center_median().dot(ANY_WAY))
    for edge in solid.edges:
        edge.smooth = kind == "lump" or edge.calc_face_angle(0) < 0.7
    return to_mesh(kind, solid)

# Roughness, metal, alpha, gloss; then noise: scale in each direction, strength, and height of its bumps.
USUAL = (0.95, 0, 1, 0, (2.2, 2.2, 2.2), 0.25, 0.1)
WATER, GRASS = (0.08, 0, 1, 0, (0.9, 3.4, 1), 0.3, 0.12), (0.95, 0, 1, 0, (7, 7, 7), 0.5, 0.6)
SURFACES = {
    "matt": (0.82, 0, 1, 0, (3.4, 3.4, 3.4), 0.1, 0), "plastic": (0.34, 0, 1, 0, None, 0, 0),
    "metal": (0.24, 1, 1, 0, None, 0, 0), "gold": (0.2, 1, 1, 0, None, 0, 0), "silver": (0.14, 1, 1, 0, None, 0, 0),
    "glass": (0.04, 0, 0.34, 0, None, 0, 0), "glossy": (0.2, 0, 1, 0.8, None, 0, 0),
    "wood": (0.6, 0, 1, 0, (2.2, 34, 34), 0.3, 0), "stone": (0.92, 0, 1, 0, (5, 5, 5), 0.3, 0.1), "water": WATER,
    "ground grass": GRASS, "ground field": GRASS, "ground sand": (0.95, 0, 1, 0, (1.3, 9, 1), 0.14, 0.3),
    "ground snow": (0.9, 0, 1, 0, (0.7, 0.7, 0.7), 0.07, 0.3), "ground floor": (0.45, 0, 1, 0, (9, 0.6, 1), 0.4, 0),
    "ground studio": (0.9, 0, 1, 0, None, 0, 0),
}

def make_material(kind, colour, fog):
    """Returns a material that fades into the fog with its distance from the camera."""
    key = " ".join([kind, *(f"{part:.4f}" for part in colour)])
    if key in bpy.data.materials:
        return bpy.data.materials[key]
    material = bpy.data.materials.new(key)
    material.use_nodes = True
    # Sampled as lamps, materials that glow or fade would have another order in each process.
    old = "sample_as_light" in material.cycles.bl_rna.properties
    setattr(material.cycles, *(("sample_as_light", False) if old else ("emission_sampling", "NONE")))
    nodes, links = material.node_tree.nodes, material.node_tree.links
    surface = nodes["Principled BSDF"]
    rough, metal, alpha, gloss, scale, strength, height = SURFACES.get(kind, USUAL)
    named = {"Base Color": colour, "Roughness": rough, "Metallic": metal, "Alpha": alpha, "Clearcoat": gloss}
    glow = {"Emission": colour, "Emission Color": colour, "Emission Strength": 1.5 if kind == "glow" else 0}
    for name, value in {**named, **glow, "Coat Weight": gloss}.items():
        put(surface, name, value)
    if scale is not None:
        names = "TexCoord VectorMath TexNoise Math VectorMath Bump"
        place, stretch, grain, shade, tint, bump = (nodes.new(f"ShaderNode{name}") for name in names.split())
        stretch.operation, shade.operation, tint.operation = "MULTIPLY", "MULTIPLY_ADD", "SCALE"
        stretch.inputs[1].default_value, tint.inputs[0].default_value = scale, colour
        grain.inputs["Scale"].default_value = 1
        shade.inputs[1].default_value, shade.inputs[2].default_value = 2 * strength, 1 - strength
        bump.inputs["Strength"].default_value, bump.inputs["Distance"].default_value = height, 0.1
        join(links, place.outputs["Object"], stretch.inputs[0], stretch.outputs[0], grain.inputs["Vector"],
             grain.outputs[0], shade.inputs[0], shade.outputs[0], tint.inputs["Scale"], tint.outputs[0],
             surface.inputs["Base Color"], grain.outputs[0], bump.inputs["Height"], bump.outputs[0],
             surface.inputs["Normal"])
    if fog is not None and fog["near"] < 999:
        names = "CameraData MapRange MixShader Emission"
        camera, far, mix, air = (nodes.new(f"ShaderNode{name}") for name in names.split())
        far.inputs[1].default_value, far.inputs[2].default_value = fog["near"], fog["far"]
        air.inputs[0].default_value = (*fog["light"], 1)
        join(links, camera.outputs["View Distance"], far.inputs[0], far.outputs[0], mix.inputs[0], surface.outputs[0],
             mix.inputs[1], air.outputs[0], mix.inputs[2], mix.outputs[0], nodes["Material Output"].inputs[0])
    return material

def put(node, name, value):
    """Sets a socket if it exists; names of sockets differ between releases."""
    if name in node.inputs:
        node.inputs[name].default_value = (*value, 1) if node.inputs[name].type == "RGBA" else value

def take_picture(scene, job):
    """Writes the picture, and its layers if passes are requested; returns their camera and objects."""
    render, layer, items = scene.render, scene.view_layers[0], solids(scene)
    if job["hasPasses"] and len(items) > 32767:
        raise Refused(f"there are {len(items)} objects, and `passes` tells 32767 apart")
    for index, item in enumerate(items[:32767], 1):
        item.pass_index = index
    layer.use_pass_z = layer.use_pass_normal = layer.use_pass_object_index = job["hasPasses"]
    render.use_file_extension, render.filepath = False, job["layers" if job["hasPasses"] else "picture"]
    set_format(render, "OPEN_EXR_MULTILAYER" if job["hasPasses"] else "PNG")
    told = [time.monotonic()]

    def progress(stats):
        if time.monotonic() - told[0] > 1:
            told[0] = time.monotonic()
            tell({"progress": str(stats)[-200:]})

    bpy.app.handlers.render_stats.append(progress)
    bpy.ops.render.render(write_still=True, scene=scene.name)
    if not job["hasPasses"]:
        return {}
    set_format(render, "PNG")
    bpy.data.images["Render Result"].save_render(job["picture"], scene=scene)
    boxes = [[list(point) for point in corners(item)] for item in items]
    objects = [{"name": item.name, "index": item.pass_index, "box_3d": box} for item, box in zip(items, boxes)]
    item, width, height = scene.camera, render.resolution_x, render.resolution_y
    seen = item.calc_matrix_camera(bpy.context.evaluated_depsgraph_get(), x=width, y=height)
    camera = {"width": width, "height": height, "lens": item.data.lens, "sensor": item.data.sensor_width}
    camera["matrix_world"] = [list(row) for row in item.matrix_world]
    return {"camera": camera, "projection": [list(row) for row in seen], "objects": objects}

def set_format(render, kind):
    settings = render.image_settings
    if hasattr(settings, "media_type"):
        settings.media_type = "IMAGE" if kind == "PNG" else "MULTI_LAYER_IMAGE"
    settings.file_format, settings.color_mode = kind, "RGBA" if render.film_transparent else "RGB"
    settings.color_depth, settings.exr_codec = "8" if kind == "PNG" else "32", "NONE"

main()
